// Package simulate runs whole worlds in one process and under one clock: several nodes on one
// store, agents, and people who submit, reply, cancel and follow, while the store delays, fails,
// loses acknowledgements, drops hints, and nodes are paused, cut off, killed and started again.
//
// A seed decides everything. testing/synctest holds the time still; but it does not order
// goroutines, so whatever meets outside of a node goes through a gate: each call of a store, each
// step of an agent, each timer and hint waits until the world is quiescent, and then the seed says
// which one goes next, what becomes of it, or that time passes. The same seed is the same world, to
// the byte.
//
// While the world lives, each commit is compared with what the promises of store.Store allow
// (witness); when it is over, the logs, the answers, the agents' turns and what people were told
// are compared with each other (verdict). Sightings are the rare branches that the seeds must reach
// together.
//
// Run must be called in a synctest bubble. It uses the library as its users do, and looks inside
// nothing.
package simulate
