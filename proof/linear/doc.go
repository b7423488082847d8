// Package linear checks histories of concurrent calls about runs and pools: it decides whether the
// calls could have happened one at a time.
//
// A history lists the concurrent calls of clients and nodes, each with its answer and with the
// order of its call and its return (Log). It is correct if there is an order of the calls, each at
// some moment between its call and its return, in which the contract gives the same answers;
// porcupine searches for this order. Model is this sequential specification for one run. It reads
// the transitions, the gate and the waiting policy from contract.Lifecycle, the slow interpreter,
// and shares no code with fsm or lifecycle. Pool is the specification of one pool: its capacity,
// and the order in which runs are started.
//
// The directory of deputies is not part of the run's state. A deputy's reply therefore carries the
// deputy's right during the call: throughout, at no moment, or at some moments, when both answers are
// correct.
//
// A call whose outcome no caller learned may have happened at any time after the call, or never. In
// the history it returns at the end of time.
package linear
