// Package slack asks people in Slack: a run's question appears in a channel or a direct message, with
// buttons; texts and forms are entered in a modal.
//
// The person who presses a button answers the question. Config.Person maps the Slack user to the
// host's Actor, and the store decides whether that person may answer; Slack only displays. A
// refusal is shown only to the person who pressed. A message shows the question's current state:
// it is rewritten when the question is claimed, voted on, reassigned or settled, on any front
// end. Reminders appear in its thread.
//
// An [App] has two sides:
//
//   - It is a notify.Sender. [App.Endpoint] makes it an endpoint of a notify.Notifier, which delivers
//     the events at least once, also after a restart. [Messages] stores where each question was
//     posted, so that a repeated event rewrites the message instead of posting it again.
//   - It receives interactions: [App.ServeHTTP] over signed HTTP requests, or [App.ServeSocket] over
//     Socket Mode, for hosts without inbound HTTP. A press is acknowledged within 2 s, usually after
//     the answer was stored.
//
// Agents' texts are shown as plain text. Every character is visible (interaction.Visible), and
// characters with a meaning in Slack are escaped, so that mentions, links and markup have no
// effect. An approval that is too long for a message gets a link to the host's page instead of
// buttons. So people can approve only content that they were shown.
//
// Package slacktest has a Slack for tests. docs/tutorials/slack.md is the page for users.
package slack
