// What an uncovered point changes: it becomes a landmark, and where there are too many then, one leaves.
#pragma once

#include "cells.h"

namespace driftmap {

// Let a stored point that is uncovered change the landmarks, by the tight rule or by the paper's; notes the event and
// returns the row that became a landmark.
std::int32_t admit(State& state, Space& space, std::int32_t row);

// The tight rule: the point enters, the landmark that is cheapest to lose leaves, and the radius becomes the covering
// radius, so it can shrink as well as grow. Notes the event.
void exchange(State& state, Space& space, std::int32_t row);

}  // namespace driftmap
