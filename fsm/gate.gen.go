// Code generated from contract/lifecycle.json 1.0.0; DO NOT EDIT.

package fsm

var gate = []GateRule{
	{ID: "CG-01", All: 0, None: FactProcessOK, Outcome: EventTurnFailed, Error: CodeEngineFailed, Warnings: []Warning{}},
	{ID: "CG-02", All: 0, None: FactInteractive | FactSchemaDeclared, Outcome: EventTurnSucceeded, Error: "", Warnings: []Warning{}},
	{ID: "CG-03", All: FactOutputValid, None: FactInteractive, Outcome: EventTurnSucceeded, Error: "", Warnings: []Warning{}},
	{ID: "CG-04", All: 0, None: FactInteractive, Outcome: EventTurnFailed, Error: CodeOutputInvalid, Warnings: []Warning{}},
	{ID: "CG-05", All: FactDoneMarker, None: FactSchemaDeclared, Outcome: EventTurnSucceeded, Error: "", Warnings: []Warning{}},
	{ID: "CG-06", All: FactDoneMarker | FactOutputValid, None: 0, Outcome: EventTurnSucceeded, Error: "", Warnings: []Warning{}},
	{ID: "CG-07", All: FactDoneMarker, None: 0, Outcome: EventTurnFailed, Error: CodeOutputInvalid, Warnings: []Warning{}},
	{ID: "CG-08", All: FactSchemaDeclared | FactOutputValid | FactSchemaPermissive, None: FactQuestionAsked, Outcome: EventTurnSucceeded, Error: "", Warnings: []Warning{WarnInteractiveCompletedWithoutDoneMarker, WarnInteractiveSoftCompletionSchemaTooPermissive}},
	{ID: "CG-09", All: FactSchemaDeclared | FactOutputValid, None: FactQuestionAsked, Outcome: EventTurnSucceeded, Error: "", Warnings: []Warning{WarnInteractiveCompletedWithoutDoneMarker}},
	{ID: "CG-10", All: FactAttemptsExhausted, None: 0, Outcome: EventTurnFailed, Error: CodeInteractiveMaxAttemptExceeded, Warnings: []Warning{}},
	{ID: "CG-11", All: 0, None: FactSticky | FactHandlePresent, Outcome: EventTurnFailed, Error: CodeSessionResumeFailed, Warnings: []Warning{}},
	{ID: "CG-12", All: 0, None: 0, Outcome: EventTurnNeedsInput, Error: "", Warnings: []Warning{}},
}
