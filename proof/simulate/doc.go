// Package simulate runs whole worlds in one process and under one clock. A world has several nodes
// on one store, agents, and people who submit, reply, cancel and follow. The store is slow, fails,
// loses acknowledgements and drops hints, and nodes are paused, cut off, killed and restarted.
//
// A seed decides everything. testing/synctest controls the time, but not the order of goroutines.
// Everything that leaves a node therefore passes a gate: each call of a store, each step of an
// agent, each timer and hint waits until the world is quiescent. Then the seed chooses the next one
// and its result, or lets time pass. The same seed gives the same world, to the byte.
//
// While the world runs, each commit is compared with the promises of store.Store (witness). When it
// is over, the logs, the answers, the agents' turns and people's answers are compared with each
// other (verdict). Sightings count the rare branches; all seeds together must reach every one.
//
// Run must be called in a synctest bubble. It uses the library as its users do, through exported
// names only.
package simulate
