// Code generated from contract/lifecycle.json 1.0.0; DO NOT EDIT.

package fsm

var waiting = []WaitRule{
	{ID: "WP-01", Profile: ProfileResumable, Strict: true, Slot: SlotRelease, OnDeadline: DeadlineKeepWaiting},
	{ID: "WP-02", Profile: ProfileResumable, Strict: false, Slot: SlotRelease, OnDeadline: DeadlineAutoDecide},
	{ID: "WP-03", Profile: ProfileStickyProcess, Strict: true, Slot: SlotKeep, OnDeadline: DeadlineFail},
	{ID: "WP-04", Profile: ProfileStickyProcess, Strict: false, Slot: SlotKeep, OnDeadline: DeadlineAutoDecide},
}
