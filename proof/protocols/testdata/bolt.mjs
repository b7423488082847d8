// An app with Slack's own library: it posts a message with buttons and prints what it receives. Arguments: the
// address of the API, the signing secret, the tokens, and http or socket.
import bolt from '@slack/bolt'

const [api, signingSecret, token, appToken, mode] = process.argv.slice(2)
const say = line => console.log(JSON.stringify(line))
const socketMode = mode === 'socket'
const app = new bolt.App({ token, signingSecret, appToken: socketMode ? appToken : undefined, socketMode,
  logLevel: 'error', clientOptions: { slackApiUrl: api } })
const text = words => ({ type: 'plain_text', text: words, emoji: false })

app.action('approve', async ({ ack, body, action, client }) => {
  await ack()
  await client.chat.update({ channel: body.container.channel_id, ts: body.container.message_ts, text: 'Approved',
    blocks: [{ type: 'section', text: text('Approved by ' + body.user.id) }] })
  say({ action: action.action_id, value: action.value, user: body.user.id, team: body.team.id })
})
app.action('form', async ({ ack, body, client }) => {
  await ack()
  await client.views.open({ trigger_id: body.trigger_id, view: { type: 'modal', callback_id: 'answer', title: text('Answer'),
    submit: text('Send'), private_metadata: 'kept', blocks: [{ type: 'input', block_id: 'b', label: text('Your answer'),
      element: { type: 'plain_text_input', action_id: 'value' } }] } })
  say({ opened: true })
})
app.view('answer', async ({ ack, view, body }) => {
  const value = view.state.values.b.value.value
  await ack(value === 'wrong' ? { response_action: 'errors', errors: { b: 'Not this.' } } : undefined)
  say({ answer: value, metadata: view.private_metadata, user: body.user.id })
})
app.error(async error => say({ error: error.message }))

const server = await app.start(0)
const posted = await app.client.chat.postMessage({ channel: 'C1', text: 'Approve?', blocks: [
  { type: 'section', text: text('Approve?') }, { type: 'actions', elements: [
    { type: 'button', action_id: 'approve', value: 'v1', text: text('Approve') },
    { type: 'button', action_id: 'form', value: 'v1', text: text('Answer…') }] }] })
say({ port: socketMode ? 0 : server.address().port, ts: posted.ts })
