// Package flow lets an ordinary Go function be an agent: straight-line code that asks people,
// sleeps, and starts other runs in the middle, for weeks, and survives crashes and deploys.
//
//	agent := flow.New("order", func(c *flow.Ctx, in Order) (Result, error) {
//		paid, err := flow.Step(c, "charge", func(ctx context.Context) (string, error) {
//			return bank.Charge(ctx, flow.Key(ctx), in.Amount)
//		})
//		if err != nil {
//			return Result{}, err
//		}
//		where, err := flow.Ask[string](c, "address", engine.Question{Kind: engine.OpenText, Prompt: "Where to?"})
//		…
//	})
//
// An [Agent] is an engine: pass it to lifecycle.Config. A function calls:
//
//   - [Step] executes a side effect, and [StepIn] does so in a transaction of the host's database.
//   - [Ask] asks a person, [AskAll] asks several questions at once, and [Approve] asks for the
//     approval of a tool call.
//   - [Ctx.Sleep] waits for a time. [Ctx.Now], [Ctx.ID] and [Ctx.Rand] return values that stay the
//     same when the function is repeated.
//   - [Run] executes another run as a child and returns its result, [RunAll] several. [Spawn],
//     [Wait] and [WaitAny] start and wait separately.
//   - [All] executes branches at the same time.
//   - [Ctx.Defer] registers a compensation for the case that the function fails.
//   - [Version] lets old and new runs take different paths after a change of the code.
//
// How it works: a waiting run keeps nothing of the function in memory. Each turn calls the function
// from its first line. Results of earlier turns are in the run's journal: a Step with a stored
// result is not executed again, and a question with an answer is not asked again. The function
// replays up to that point and continues. Each result is one commit in the run's store, under the
// fence of the turn.
//
// Rules for the function:
//
//   - Put side effects and anything non-deterministic into a Step. Take the time, random numbers and
//     ids from the Ctx.
//   - Return each error that matches [ErrTurnOver] like any other error: the turn ends here, because
//     the run waits or cannot continue now. After it nothing more is executed or asked, and the
//     results of the function are ignored. Deferred calls of Go are executed at the end of each turn.
//   - Use a Ctx only in the function's own code: a step or a compensation uses none, and each branch
//     of All has its own.
//   - A crash between the effect of a step and its commit executes the step again, with the same
//     [Key]. Pass this key to the service that causes the effect, or use StepIn.
//   - The function may be changed while its runs wait, as long as the journal still matches.
//     Otherwise the run is held, and the reason names the entry of the journal and the call of the
//     code. Version is for intended changes.
//
// Turns of a function may always be repeated: set OnInterrupt to lifecycle.Repeat in
// lifecycle.Config or in the spec.
//
// Neighbours: lifecycle executes the engine, whose journal is an [engine.Journal], stored with the
// run. It is not a workflow language: a step is any Go function. Package toolloop provides a flow for
// a language model with tools.
package flow
