// Forgetting: points leave after a window, or when too little of their weight is left after some half-lives.
#pragma once

#include "coreset.h"

namespace driftmap {

// Forget the points whose time has come when the next point arrives at `now`. Landmarks without points leave, the
// farthest points take the free slots, and the radius shrinks to what is remembered. Returns whether landmarks changed.
bool expire(State& state, Space& space, double now);

// After an arrival: refine the resolution where forgetting has left half of the memory free, and drop forgotten rows.
void relax(State& state, Space& space);

// Drop all forgotten rows but the landmarks.
void drop_forgotten(State& state, Space& space);

}  // namespace driftmap
