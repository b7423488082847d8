// Package toolloop executes a language model with tools as a flow: the model answers, people approve
// its calls, the tools are executed, and the model gets their results, until it answers without a
// call. It knows no model library: a [Model] is three methods around one.
//
//	clerk := toolloop.Loop{Model: model, Tools: []toolloop.Tool{{
//		Name: "pay", Description: "Pays an invoice.", Schema: schema, Run: pay,
//	}}}
//	agent := flow.New("clerk", clerk.Run)
//
// How it works: each answer of the model is a step of the flow, stored with the model's message as
// JSON, and so is each executed call. A repeated turn asks neither the model nor a person again. The
// calls of one answer that need approval are asked together; the tools run when all are decided, in
// the model's order. A tool gets the approved arguments, which are the stored ones or a person's
// edit; the model learns of edits, notes and refusals. A crash between a tool's effect and its commit
// executes the call again with the same flow.Key, which the tool passes to the service it calls.
//
// Neighbours: engine/flow has the journal, the questions and the retries. The modules
// examples/anthropic and examples/openai have a Model each. The loop keeps no memory between runs,
// and shortens no conversation.
package toolloop
