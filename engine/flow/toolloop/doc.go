// Package toolloop executes a language model with tools as a flow: the model answers, people approve
// its calls, the tools are executed, and the model gets their results, until it answers without a
// call. It depends on no model library: a [Model] wraps one in three methods.
//
//	clerk := toolloop.Loop{Model: model, Tools: []toolloop.Tool{{
//		Name: "pay", Description: "Pays an invoice.", Schema: schema, Run: pay,
//	}}}
//	agent := flow.New("clerk", clerk.Run)
//
// How it works: each answer of the model and each executed call is a step of the flow; an answer is
// stored with the model's message as JSON. A repeated turn asks neither the model nor a person again.
// People get all approvals of one answer together. After all decisions, the tools run in the model's
// order. A tool gets the stored arguments or a person's edit; the results inform the model about edits,
// notes and refusals. After a crash between a tool's effect and its commit, the call is executed again
// with the same flow.Key; the tool passes this key to the service that it calls.
//
// Related packages: engine/flow provides the journal, the questions and the retries. The modules
// examples/anthropic and examples/openai each implement a Model. The loop does not share data between
// runs, and does not shorten conversations.
package toolloop
