// Voronoi cells: which stored points are nearest to which landmark, while landmarks come and go.
//
// Two numbers per stored point, its distances to the nearest and second-nearest landmark, take the place of the edges
// of the paper's graph (as in FastPAM for k-medoids): a landmark z is redundant from the radius rho*(z) on, the largest
// second distance in its cell.
#pragma once

#include "state.h"

namespace driftmap {

// Make a stored point a landmark: it competes for the points of all cells.
void enter(State& state, Space& space, std::int32_t row);

// Take out a landmark whose cost is exact (or whose cell is empty); its points go to their second-nearest landmarks.
// Returns the row of the landmark.
std::int32_t leave(State& state, std::int32_t slot);

// Make the cost of a cell exact, or stop as soon as it is known to exceed `enough`.
void refine_cost(State& state, Space& space, std::int32_t slot, double enough);

// The stored point farthest from its landmark, the earliest of equals, if it is beyond the limit; else -1.
std::int32_t farthest(const State& state, double limit);

// Keep only rows that are not `gone`, and renumber them.
void retain(State& state, Space& space, const std::vector<char>& gone);

}  // namespace driftmap
