/**
 * Goal: clients of people ring and decline by their routes, which pass on the named users and leave the rules to the
 * channel.
 */
import { describe, expect, it, vi } from 'vitest';
import { refusal } from '../../../../protocol/refusal.ts';
import { calls } from '../../../../transports/rest/resources/calls.ts';
import { buildGuild } from '../../../support/guild.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

const params = { channel_id: '70' };

function arrange() {
  const ring = vi.fn(async () => ({ ok: true, value: null }));
  const stopRinging = vi.fn(async () => ({ ok: false, refusal: refusal('UNKNOWN_CHANNEL') }));
  return { ring, stopRinging, ...restGuild(buildGuild({}), calls, { calls: { ring, stopRinging } }) };
}

describe('a ring request', () => {
  it('rings the listed recipients, or all', async () => {
    const { invoke, ring } = arrange();
    const by = expect.objectContaining({ by: expect.objectContaining({ userId: '10' }) });
    const ringing = (body: object) => invoke('ring_call', { as: '10', bot: false, params, body });
    expect((await ringing({ recipients: ['11'] })).status).toBe(204);
    expect(ring).toHaveBeenLastCalledWith('70', ['11'], by);
    for (const body of [{}, { recipients: null }]) {
      await ringing(body);
      expect(ring).toHaveBeenLastCalledWith('70', null, by);
    }
    expect(codeOf(await ringing({ recipients: Array.from({ length: 11 }, (_, at) => String(at)) }))).toBe(
      50035,
    );
  });

  it('is stopped only in an existing call, and not by bots', async () => {
    const { invoke, stopRinging } = arrange();
    expect(codeOf(await invoke('stop_ringing_call', { as: '10', bot: false, params, body: {} }))).toBe(10003);
    expect(stopRinging).toHaveBeenCalledOnce();
    expect((await invoke('stop_ringing_call', { as: '10', params, body: {} })).status).toBeGreaterThanOrEqual(
      400,
    );
    expect(stopRinging).toHaveBeenCalledOnce();
  });
});
