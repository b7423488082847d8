// Package eino runs graphs and agents built with github.com/cloudwego/eino as engines, in the
// host's own process.
//
// Compile takes a graph, chain or workflow, NewAgent what makes an agent of Eino's agent
// development kit. An interrupt becomes a question, and the answer resumes it as its resume data.
// Several are asked about together, and each gets the answer to its own question.
// Where Eino resumes a checkpoint as often as it is asked to, a run resumes each of its questions
// once: the reply is claimed by the store of the runs, and every turn writes a checkpoint of its
// own, beside the one that it read (see package checkpoint).
//
//	e, err := eino.Compile(ctx, graph, eino.GraphConfig[string, string]{})
//
// What Eino leaves to the parts of a graph stays with them: a node that was interrupted runs again
// from its beginning; one that is not meant by an answer must interrupt again; a node must return
// soon after its context ended. And a turn that is repeated after a crash does again what its nodes
// did outside.
//
// Neighbours: engine is the interface, engine/checkpoint keeps the sessions, lifecycle runs the
// turns.
package eino
