// Goal: an interactions endpoint stays in use while it checks signatures and answers, and is removed when it no longer does.
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { Application } from '../../../engine/user/facts.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import type { EndpointAnswer } from '../../../services/applications/endpoint.ts';
import { endpointFault } from '../../../services/applications/endpointcheck.ts';
import { EndpointProbe } from '../../../services/applications/endpointprobe.ts';
import { id } from '../../support/guild.ts';

const HOUR_MS = 3_600_000;
const URL = 'https://game.test/interactions';

const answered = (status: number, body = ''): EndpointAnswer => ({
  ...{ ok: true, status, contentType: null, body: Buffer.from(body) },
});
const PONG = answered(200, '{"type":1}');
const REFUSED = answered(401);
const DOWN: EndpointAnswer = { ok: false, reason: 'unreachable' };

const senderOf = (pong: EndpointAnswer, forged: EndpointAnswer) => ({
  post: async () => pong,
  postForged: async () => forged,
});

describe('a URL', () => {
  test.each<[string, 'interactions' | 'events', EndpointAnswer, EndpointAnswer, string | null]>([
    ['is right', 'interactions', PONG, REFUSED, null],
    ['is right for events', 'events', answered(204), REFUSED, null],
    ['trusts any signature', 'interactions', PONG, PONG, 'wrong signature'],
    ['trusts any signature of events', 'events', answered(204), answered(204), 'wrong signature'],
    ['refuses a wrong signature with 403', 'interactions', PONG, answered(403), 'wrong signature'],
    ['refuses everything', 'interactions', REFUSED, REFUSED, 'status 401'],
    ['answers 204 to a PING', 'interactions', answered(204), REFUSED, 'status 204'],
    ['answers 200 to a PING of events', 'events', PONG, REFUSED, 'status 200'],
    ['answers with another type', 'interactions', answered(200, '{"type":4}'), REFUSED, '"type": 1'],
    ['answers no JSON', 'interactions', answered(200, '{type:1}'), REFUSED, '"type": 1'],
    ['answers null', 'interactions', answered(200, 'null'), REFUSED, '"type": 1'],
    ['is down', 'interactions', DOWN, REFUSED, 'could not be reached'],
    ['is down for a wrong signature', 'interactions', PONG, DOWN, 'could not be reached'],
    ['is private', 'interactions', { ok: false, reason: 'refused' }, REFUSED, 'public https'],
    ['is slow', 'events', { ok: false, reason: 'timeout' }, REFUSED, 'in time'],
  ])('is accepted or refused by its responses when it %s: %s', async (_, kind, pong, forged, fault) => {
    const found = await endpointFault(senderOf(pong, forged), kind, id<ApplicationId>(10), URL);
    if (fault === null) expect(found).toBeNull();
    else expect(found).toContain(fault);
  });
});

describe('later tests of an endpoint', () => {
  function open({ owns = true, url = URL as string | null } = {}) {
    const clock = new VirtualClock();
    const scope = new Lifetime(clock);
    const state = { forged: REFUSED, owns, faults: [] as unknown[], lists: true, url };
    const removed: string[] = [];
    let tested = 0;
    const probe = new EndpointProbe({
      applications: {
        async list() {
          if (!state.lists) throw new Error('The database is gone.');
          return [{ id: id<ApplicationId>(10), interactions_endpoint_url: state.url } as Application];
        },
      },
      sender: {
        async post() {
          tested += 1;
          return PONG;
        },
        postForged: async () => state.forged,
      },
      routing: { owns: () => state.owns },
      ...{ wheel: new TimerWheel(clock), scope },
      random: () => 0.5,
      remove: async (_, fault) => {
        removed.push(fault);
      },
      onFault: (error) => state.faults.push(error),
    });
    probe.start();
    /** Lets some hours pass, and the tests that are due run. */
    const pass = async (hours: number) => {
      for (let hour = 0; hour < hours; hour += 1) {
        clock.advance(HOUR_MS);
        for (let time = 0; time < 5; time += 1) await turn();
      }
    };
    return { state, removed, scope, pass, tested: () => tested };
  }

  test('are run about every six hours, and keep a valid endpoint', async () => {
    const { pass, tested, removed } = open();
    await pass(25);
    expect([tested(), removed]).toEqual([4, []]);
  });

  test('remove an endpoint that fails three times in a row', async () => {
    const { state, pass, removed } = open();
    state.forged = PONG;
    await pass(13);
    expect(removed).toEqual([]);
    state.forged = REFUSED;
    await pass(6);
    state.forged = DOWN;
    await pass(12);
    expect(removed).toEqual([]);
    await pass(6);
    expect(removed).toEqual(['it could not be reached']);
  });

  test('restart for a new URL', async () => {
    const { state, pass, removed } = open();
    state.forged = DOWN;
    await pass(13);
    state.url = `${URL}/new`;
    await pass(12);
    expect(removed).toEqual([]);
    await pass(6);
    expect(removed).toHaveLength(1);
  });

  test('run only on the owner shard of the application, and only with a URL', async () => {
    for (const given of [{ owns: false }, { url: null }]) {
      const { pass, tested } = open(given);
      await pass(13);
      expect(tested()).toBe(0);
    }
  });

  test('continue after a fault of the database, and stop with the server', async () => {
    const { state, pass, scope, tested } = open();
    state.lists = false;
    await pass(7);
    expect(state.faults).toHaveLength(1);
    state.lists = true;
    await pass(6);
    expect(tested()).toBe(1);
    await scope.close();
    await pass(12);
    expect(tested()).toBe(1);
  });
});
