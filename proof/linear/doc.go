// Package linear decides whether what callers saw of runs and pools could have happened one call at
// a time.
//
// A history is what clients and nodes asked for at the same time and were answered, each with its
// call and its return (Log). It is right when there is an order of the calls, each at some moment
// between its call and its return, in which the contract gives the same answers (porcupine looks
// for it). Model is the contract as that sequential specification, for one run: it takes its
// transitions, gate and waiting policy from contract.Lifecycle, the slow interpreter, and shares
// nothing with fsm or lifecycle. Pool is that of one pool: never above its capacity, and in which
// order runs are started.
//
// A call whose outcome nobody learned may have happened at any time after its call, or never: its
// return is at the end of time.
package linear
