// Stress on the line, where it has many minima: the least of all is found.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace driftmap {

using Doubles = std::vector<double>;

// Numbers of places on the line, ascending; of equal ones the first comes first.
inline std::vector<int> sorted(const double* places, int n) {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return places[i] < places[j]; });
    return order;
}

// The position of least stress, given distances to fixed points in this order. Between two neighbours all signs of
// y - p are fixed and the stress is a parabola, W y^2 - 2 b y + c: the least of all is the least of n + 1 parabolas,
// and b and c of each follow from the one before.
inline double best_on_line(const std::vector<int>& order, const double* points, const double* weights,
                           const double* distances) {
    double weight = 0, b = 0, c = 0, best = 0, least = std::numeric_limits<double>::infinity(), low = -least;
    for (const int i : order) {
        const double gap = points[i] - distances[i];
        weight += weights[i];
        b += weights[i] * gap;
        c += weights[i] * gap * gap;
    }
    const auto look = [&](double high) {
        const double y = std::min(std::max(b / weight, low), high), stress = (weight * y - 2 * b) * y + c;
        if (stress < least) best = y, least = stress;
        low = high;
    };
    const double infinite = least;
    for (const int i : order) {
        look(points[i]);
        b += 2 * weights[i] * distances[i];
        c += 4 * weights[i] * distances[i] * points[i];
    }
    look(infinite);
    return best;
}

}  // namespace driftmap
