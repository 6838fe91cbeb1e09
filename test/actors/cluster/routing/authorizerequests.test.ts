// Goal: a request to link an account reaches the sessions of its user on every shard, and their number is known.
import { describe, expect, it } from 'vitest';
import { createAuthorizeRequests } from '../../../../actors/cluster/routing/authorizerequests.ts';
import { LinkFault } from '../../../../protocol/faults.ts';
import type { ApplicationId, UserId } from '../../../../protocol/ids.ts';
import { CATALOGUE } from '../../../../protocol/link.ts';
import { routerOf } from '../routed.ts';

const ANN = '10' as UserId;
const APPLICATION = '20' as ApplicationId;

/** The requests on shard `a` among `a`, `b` and `c`. It has one session of the user, which opted in. */
function arrange() {
  const { router, placement, scene, asked } = routerOf(undefined, CATALOGUE);
  const shown: string[] = [];
  const sessions = {
    wantAuthorizeRequests: (_caller: object, sessionId: string) => sessionId === 's1',
    requestAuthorization(_userId: UserId, _applicationId: ApplicationId, requestId: string) {
      shown.push(requestId);
      return 1;
    },
  };
  return { router, scene, asked, shown, requests: createAuthorizeRequests(() => sessions, placement) };
}

describe('a request to link an account', () => {
  it('is shown by the sessions of all shards, and none count for a shard that does not answer', async () => {
    const { scene, asked, shown, requests } = arrange();
    scene.answer = async ({ to }) => {
      if (to === 'c') throw new LinkFault('timeout', 'No answer.');
      return 3;
    };
    expect(await requests.ask(ANN, APPLICATION, 'r1')).toBe(1 + 3);
    expect(shown).toEqual(['r1']);
    const args = [ANN, APPLICATION, 'r1'];
    expect(asked).toMatchObject(
      ['b', 'c'].map((to) => ({ to, method: 'sessions.requestAuthorization', args })),
    );
  });

  it('is shown here when another shard sends it', async () => {
    const { router, shown } = arrange();
    const context = { deadlineMs: 1_000, commandKey: null, key: '', trace: 't' };
    const args = [ANN, APPLICATION, 'r2'];
    expect(await router.handler.ask('b', 'sessions.requestAuthorization', args, context)).toBe(1);
    expect(shown).toEqual(['r2']);
  });
});

describe('a session that wants such requests', () => {
  it('is looked for on the other shards when it is not here', async () => {
    const { scene, asked, requests } = arrange();
    const caller = { userId: ANN, applicationId: APPLICATION };
    scene.answer = async ({ to }) => to === 'c';
    expect(await requests.want(caller, 's1', true)).toBe(true);
    expect(asked).toEqual([]);
    expect(await requests.want(caller, 's2', true)).toBe(true);
    scene.answer = async () => false;
    expect(await requests.want(caller, 's2', true)).toBe(false);
  });
});
