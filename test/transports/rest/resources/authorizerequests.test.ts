// Goal: a session says for itself that it wants requests to link, and only the user or the game's bot makes them.
import { describe, expect, it, vi } from 'vitest';
import type { ApplicationId } from '../../../../protocol/ids.ts';
import type { Caller } from '../../../../transports/rest/operation.ts';
import { authorizeRequests } from '../../../../transports/rest/resources/authorizerequests.ts';
import { BOT, HUMAN, pipelineOf } from '../../../support/rest.ts';

const GAME = BOT.applicationId as ApplicationId;
const ACTING: Caller = {
  ...HUMAN,
  applicationId: GAME,
  authorization: { id: '1', applicationId: GAME, scopes: new Set(['identify']), expiresMs: 1 },
};

function arrange(known = true, told = 1) {
  const want = vi.fn(() => known);
  const ask = vi.fn(() => told);
  const services = { authorizeRequests: { want, ask }, nextId: () => '77' };
  const { pipeline } = pipelineOf(authorizeRequests, { services });
  const invoke = (id: string, caller: Caller, params: Record<string, string>, body: object = {}) =>
    pipeline.invoke(id, { caller, params, body, publicUrl: '', address: null });
  return { want, ask, invoke };
}

const codeOf = ({ body }: { body: unknown }) => (body as { code?: number }).code;

describe('a subscription to authorize requests', () => {
  const params = { session: 'abc' };

  it.each([
    ['want_authorize_requests', true],
    ['ignore_authorize_requests', false],
  ])('is set by %s for a session of the caller', async (id, wanted) => {
    const { invoke, want } = arrange();
    expect((await invoke(id, ACTING, params)).status).toBe(204);
    expect(want).toHaveBeenCalledWith(expect.objectContaining({ applicationId: GAME }), 'abc', wanted);
    const strange = arrange(false);
    expect(codeOf(await strange.invoke(id, ACTING, params))).toBe(10020);
  });

  it('is refused without a token of an application', async () => {
    const { invoke, want } = arrange();
    expect(codeOf(await invoke('want_authorize_requests', HUMAN, params))).toBe(10020);
    expect(codeOf(await invoke('want_authorize_requests', BOT, params))).toBe(20001);
    expect(want).not.toHaveBeenCalled();
  });
});

describe('an authorize request', () => {
  const params = { application_id: GAME };
  const ID = 'create_authorize_request';

  it('is sent to the sessions of the user, and returns its id', async () => {
    const { invoke, ask } = arrange();
    expect(await invoke(ID, HUMAN, params)).toMatchObject({ status: 200, body: { request_id: '77' } });
    expect(ask).toHaveBeenLastCalledWith(HUMAN.userId, GAME, '77');
    expect((await invoke(ID, BOT, params, { user_id: '5' })).status).toBe(200);
    expect(ask).toHaveBeenLastCalledWith('5', GAME, '77');
  });

  it.each([
    ['a person for another', HUMAN, GAME, { user_id: '5' }, 50001],
    ['a bot of another game', BOT, '9999', { user_id: '5' }, 50001],
    ['a bot for nobody', BOT, GAME, {}, 50035],
    ['an application for its user', ACTING, GAME, {}, 50026],
  ] as const)('is refused by %s', async (_, caller, application_id, body, code) => {
    const { invoke, ask } = arrange();
    expect(codeOf(await invoke(ID, caller, { application_id }, body))).toBe(code);
    expect(ask).not.toHaveBeenCalled();
  });

  it('is rejected while no session has subscribed', async () => {
    expect(codeOf(await arrange(true, 0).invoke(ID, HUMAN, params))).toBe(10020);
  });
});
