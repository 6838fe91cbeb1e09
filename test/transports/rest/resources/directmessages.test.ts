/** Goal: routes of direct messages and activities hand on what they were sent within its bounds, and refuse the rest. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  directMessages,
  directMessagesUnlisted,
} from '../../../../transports/rest/resources/directmessages.ts';
import { arrange, botOf, callerOf, codeOf, GAME } from './social.ts';

const message = { ok: true, value: { id: '900', content: 'hi' } };
const done = { ok: true, value: null };
const open = () =>
  arrange(
    { ...directMessages, ...directMessagesUnlisted },
    {
      messages: {
        list: { ok: true, value: [{ id: '900' }] },
        send: message,
        edit: message,
        remove: done,
        channel: { ok: true, value: { id: '50', type: 1 } },
        moderate: done,
      },
      activities: {
        accept: { ok: true, value: { secret: 'sesame' } },
        metadata: { ok: true, value: { button_urls: [] } },
        startHeadless: { ok: true, value: { token: 't', activities: [] } },
        endHeadless: done,
      },
    },
  );

const game = callerOf('sdk.social_layer');
const params = { user_id: '11' };
const one = { ...params, message_id: '900' };

describe('messages', () => {
  it('are listed, sent, changed and deleted', async () => {
    const { call, social } = open();
    const { list, send, edit, remove } = social.messages;
    expect((await call('list_user_messages', game, { params })).status).toBe(200);
    expect(list).toHaveBeenLastCalledWith(game, '11', 50);
    await call('list_user_messages', game, { params, query: { limit: '200' } });
    expect(list).toHaveBeenLastCalledWith(game, '11', 200);
    const body = { content: 'hi', metadata: { map: 'x' }, nonce: 'n', application_id: '99', more: true };
    expect(await call('send_user_message', game, { params, body })).toMatchObject({
      status: 200,
      body: { id: '900' },
    });
    const draft = { content: 'hi', metadata: { map: 'x' }, nonce: 'n' };
    expect(send).toHaveBeenLastCalledWith(game, '11', draft);
    await call('update_user_message', game, { params: one, body: { content: 'ho' } });
    expect(edit).toHaveBeenCalledWith(game, '11', '900', 'ho');
    expect((await call('delete_user_message', game, { params: one })).status).toBe(204);
    expect(remove).toHaveBeenCalledWith(game, '11', '900');
    expect(await call('get_user_dm_channel', game, { params })).toMatchObject({ body: { id: '50' } });
  });

  it('may contain an invite, the only message that some games may send', async () => {
    const { call, social } = open();
    const inviter = callerOf('activities.invites.write');
    const body = { activity: { type: 1, session_id: 's', party_id: 'p' } };
    expect((await call('send_user_message', inviter, { params, body })).status).toBe(200);
    const activity = { type: 1, sessionId: 's', partyId: 'p' };
    expect(social.messages.send.mock.lastCall?.[2]).toEqual({ activity });
    expect(codeOf(await call('list_user_messages', inviter, { params }))).toBe(50026);
    expect(codeOf(await call('update_user_message', inviter, { params: one, body: {} }))).toBe(50026);
  });

  it('are bounded in every field', async () => {
    const { call, social } = open();
    const bodies = [
      { content: 'x'.repeat(2_001) },
      { metadata: Object.fromEntries(Array.from({ length: 26 }, (_, at) => [`k${at}`, ''])) },
      { metadata: { k: 'x'.repeat(1_025) } },
      { metadata: { ['k'.repeat(1_025)]: '' } },
      { metadata: { k: {} } },
      { nonce: 'x'.repeat(26) },
      { activity: { type: 2 } },
      { activity: { type: 1, session_id: 'x'.repeat(129) } },
      { activity: 'join' },
    ];
    for (const body of bodies)
      expect(codeOf(await call('send_user_message', game, { params, body })), JSON.stringify(body)).toBe(
        50035,
      );
    for (const limit of ['0', '201', 'all'])
      expect(codeOf(await call('list_user_messages', game, { params, query: { limit } }))).toBe(50035);
    expect(social.messages.send).not.toHaveBeenCalled();
  });

  it("are moderated by the application's bot, in either order of the two user ids", async () => {
    const { call, social } = open();
    const between = { user_id_1: '10', user_id_2: '11', message_id: '900' };
    const operationId = 'update_user_message_external_moderation_metadata';
    const judged = (body: object, more: object = {}) =>
      call(operationId, botOf(GAME), { params: { ...between, ...more }, body });
    expect((await judged({ verdict: 'fine' })).status).toBe(204);
    expect(social.messages.moderate).toHaveBeenCalledWith(GAME, ['10', '11'], '900', { verdict: 'fine' });
    expect(codeOf(await judged({ k: 'x'.repeat(2_001) }))).toBe(50035);
    expect(codeOf(await judged({ ['k'.repeat(1_025)]: '' }))).toBe(50035);
    expect(codeOf(await judged({ a: '', b: '', c: '', d: '', e: '', f: '' }))).toBe(50035);
    expect(codeOf(await judged({}, { user_id_1: 'robin' }))).toBe(10013);
    expect(codeOf(await call(operationId, game, { params: between, body: {} }))).toBe(20002);
    expect(social.messages.moderate).toHaveBeenCalledTimes(1);
  });

  it('are answered with 200 or 400, whatever their shape', async () => {
    const { call } = open();
    const loose = fc.oneof(fc.anything(), fc.string(), fc.dictionary(fc.string(), fc.anything()));
    const body = fc.oneof(
      loose,
      fc.record(
        { content: loose, metadata: loose, flags: loose, nonce: loose, activity: loose },
        { requiredKeys: [] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(body, async (sent) => {
        const { status } = await call('send_user_message', game, { params, body: sent });
        expect([200, 400]).toContain(status);
      }),
    );
  });
});

describe('activities', () => {
  const at = { ...params, session: 'abc', application_id: GAME };

  it('return their join secret for the invite message', async () => {
    const { call, social } = open();
    const query = { channel_id: '50', message_id: '900' };
    const answer = await call('get_activity_secret', game, { params: { ...at, action: '1' }, query });
    expect(answer).toMatchObject({ status: 200, body: { secret: 'sesame' } });
    expect(social.activities.accept).toHaveBeenLastCalledWith(game, {
      userId: '11',
      sessionId: 'abc',
      applicationId: GAME,
      action: 1,
      invite: { channelId: '50', messageId: '900' },
    });
    await call('get_activity_secret', game, { params: { ...at, action: '2' } });
    expect(social.activities.accept.mock.lastCall?.[1]).toMatchObject({ action: 2, invite: null });
    expect(codeOf(await call('get_activity_secret', game, { params: { ...at, action: '5' } }))).toBe(50039);
    expect((await call('get_activity_metadata', game, { params: at })).status).toBe(200);
  });

  it('are set without a session, one at a time', async () => {
    const { call, social } = open();
    const activity = { name: 'Chess', type: 0 };
    const begun = await call('start_headless_session', game, { body: { activities: [activity] } });
    expect(begun).toMatchObject({ status: 200, body: { token: 't' } });
    expect(social.activities.startHeadless).toHaveBeenCalledWith(game, [activity], null);
    for (const activities of [[], [activity, activity], 'chess'])
      expect(codeOf(await call('start_headless_session', game, { body: { activities } }))).toBe(50035);
    expect((await call('end_headless_session', game, { body: { token: 't' } })).status).toBe(204);
    expect((await call('subscribe_activities', game, { body: {} })).status).toBe(204);
    expect(codeOf(await call('start_headless_session', callerOf('activities.read'), {}))).toBe(50026);
  });
});
