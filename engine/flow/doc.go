// Package flow lets an ordinary Go function be an agent: straight-line code that asks people,
// sleeps and waits in the middle, for weeks, starts runs of its own, and survives crashes and
// deploys.
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
// How it works: nothing of the function is kept in memory while its run waits. Each turn calls it
// anew, from its first line. What it has done before is in the run's journal, and is answered from
// there: a Step that has a result is not executed again, a question that has an answer is not asked
// again. So the function comes to where it was, and goes on. Each result is one commit in the run's
// own store, under the fence of the turn.
//
// What the function must heed:
//
//   - Whatever has an effect, or may give another result the next time, belongs into a Step. The time,
//     random numbers and ids come from the Ctx.
//   - An error that matches ErrTurnOver says that the turn ends here: the run waits, or cannot go on
//     now. Return it, as any other error. Nothing more is executed or asked after it in any case, and
//     what the function returns then does not count. Its deferred calls are executed at the end of each turn.
//   - A Ctx is for the function's own code: a step or a compensation uses none, and a branch its own.
//   - A crash between the effect of a step and its commit executes the step once more, with the same
//     Key. So pass the key to whoever causes the effect. StepIn has effect and commit in one transaction
//     of the host's.
//   - The function may be changed while runs of it wait, as long as what the journal has still fits.
//     If it does not fit, the run is held, and the reason names what the journal has and what the code
//     does there. Version is for intended changes.
//
// A turn of such a function may always be executed again: give the runs, or the host, OnInterrupt
// Repeat.
//
// Neighbours: lifecycle executes the engine, whose journal is engine.Journal; it is a table of the
// store. What it is not: a language for workflows; a step is any Go function.
package flow
