// Package eino runs graphs and agents built with github.com/cloudwego/eino as engines, in the
// host's own process.
//
// Compile takes a graph, chain or workflow, NewAgent a constructor of an agent of Eino's agent
// development kit. An interrupt becomes a question, and the answer its resume data. Several are
// asked together, and each gets its own answer. Eino resumes a checkpoint any number of times; a
// run resumes each question once: the store claims the reply, and every turn writes a new
// checkpoint (see package checkpoint).
//
//	e, err := eino.Compile(ctx, graph, eino.GraphConfig[string, string]{})
//
// Eino's own rules apply: an interrupted node runs again from its beginning; a node whose answer is
// missing must interrupt again; a node must return soon after its context ended; and a turn
// repeated after a crash repeats its nodes' effects.
//
// Neighbours: engine is the interface, engine/checkpoint stores the sessions, lifecycle runs the
// turns.
package eino
