// Package slack asks people in Slack: a run's question appears in a channel or a direct message, with
// buttons; texts and forms are entered in a modal.
//
// The person who presses decides. Config.Person maps the Slack user to the host's Actor, and the
// store decides whether that person may answer: Slack only shows. A press that is refused gets an
// answer that only this person sees. A message shows the question's current state: it is rewritten
// when the question is claimed, voted on, reassigned or settled, wherever that happens, and reminders
// appear in its thread.
//
// An [App] has two sides:
//
//   - It is a notify.Sender. [App.Endpoint] makes it an endpoint of a notify.Notifier, which delivers
//     the events at least once, also after a restart. [Messages] stores where each question was
//     posted, so that a repeated event rewrites the message instead of posting it again.
//   - It receives interactions: [App.ServeHTTP] over signed HTTP requests, or [App.ServeSocket] over
//     Socket Mode, for hosts without inbound HTTP. A press is acknowledged within 3 s, usually after
//     the answer was stored.
//
// Texts of agents are shown as plain text with every character visible (interaction.Visible) and
// escaped, so that mentions, links and markup have no effect. An approval that does not fit in a
// message has no buttons but a link to the host's page: nothing is approved that was not shown.
//
// Package slacktest has a Slack for tests. docs/tutorials/slack.md is the page for users.
package slack
