// Stress on the line, where it has many minima: the least of all is found.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace driftmap {

using Doubles = std::vector<double>;

// The position of least stress, given distances to fixed points, which ascend. Between two neighbours all signs of y -
// p are fixed and the stress is a parabola, W y^2 - 2 b y + c: the least of all is the least of n + 1 parabolas, and b
// and c of each follow from the one before.
inline double best_on_line(const Doubles& points, const Doubles& distances, const Doubles& weights) {
    constexpr double INFINITE = std::numeric_limits<double>::infinity();
    const size_t n = points.size();
    double weight = 0, b = 0, c = 0, best = 0, least = INFINITE;
    for (size_t j = 0; j < n; ++j) {
        const double gap = points[j] - distances[j];
        weight += weights[j];
        b += weights[j] * gap;
        c += weights[j] * gap * gap;
    }
    for (size_t j = 0; j <= n; ++j) {
        const double low = j > 0 ? points[j - 1] : -INFINITE, high = j < n ? points[j] : INFINITE;
        const double y = std::min(std::max(b / weight, low), high), stress = (weight * y - 2 * b) * y + c;
        if (stress < least) {
            best = y;
            least = stress;
        }
        if (j == n) break;
        b += 2 * weights[j] * distances[j];
        c += 4 * weights[j] * distances[j] * points[j];
    }
    return best;
}

}  // namespace driftmap
