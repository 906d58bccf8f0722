// Bounded memory: the stored points are a core-set, in which each represents the points that joined it or merged into
// it.
//
// Nothing merges before the memory is full. Then the resolution is raised until an eighth of the memory is free, and
// stored points within the resolution of each other merge inside their Voronoi cells. From then on a covered arrival
// joins the nearest representative of its cell within the resolution. Where the resolution is not small against the
// radius (many dimensions), it joins its landmark instead, without a search, unless it would have widened the cell. A
// representative knows its weight and its spread: by the triangle inequality all it represents lies within it, however
// often it merged. A landmark never merges into another point, so merging changes neither landmarks nor radius.
#pragma once

#include "cells.h"

namespace driftmap {

struct Arrival {
    int i;  // row of the block
    double time, weight, spread;
};

// Let an arrival join a stored point, if one represents it; `near` are its nearest landmarks.
bool join(State& state, Space& space, const Arrival& arrival, const Nearest& near);

// Raise the resolution and merge stored points until an eighth of the memory is free.
void thin(State& state, Space& space);

// Raise the resolution to at least this and merge the stored points within it.
void coarsen(State& state, Space& space, double resolution);

// Whether the radius has grown so far since points last merged that a coarser resolution serves as well.
bool is_too_fine(const State& state, const Space& space);

// The eighth of the window that a time belongs to: only points of the same one merge.
double eighth(const State& state, double time);

// The weight of a stored point at the present time.
double present_weight(const State& state, const Representative& one);

}  // namespace driftmap
