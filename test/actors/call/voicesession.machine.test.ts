// Goal: every state of a voice session's lifecycle answers every event, and only as written here.
import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import {
  type VoiceSessionEvent,
  type VoiceSessionShell,
  voiceSessionMachine,
} from '../../../actors/call/voicesession.machine.ts';

type Media = 'joining' | 'described' | 'connected' | 'unreachable';
type Connection = 'attached' | 'detached';
type Type = VoiceSessionEvent['type'];

/** From each state of the media, by each event: the state after it. Events that are absent change nothing. */
const MEDIA: { readonly [S in Media]: { readonly [E in Type]?: Media } } = {
  joining: { describe: 'described' },
  described: { describe: 'described', reach: 'connected' },
  connected: { describe: 'described', lose: 'unreachable' },
  unreachable: { describe: 'described', reach: 'connected' },
};
/** The same for the connection, with the effects. `ended` and `expired` end the session. */
const CONNECTION: {
  readonly [S in Connection]: {
    readonly [E in Type]?: readonly [Connection | 'ended' | 'expired', ...(keyof VoiceSessionShell)[]];
  };
} = {
  attached: { detach: ['detached', 'startWindow'], end: ['ended'] },
  detached: {
    attach: ['attached', 'stopWindow'],
    expire: ['expired', 'stopWindow'],
    end: ['ended', 'stopWindow'],
  },
};
const EVENTS = ['describe', 'reach', 'lose', 'attach', 'detach', 'expire', 'end'] as const satisfies Type[];
const TO_MEDIA: { readonly [S in Media]: readonly Type[] } = {
  joining: [],
  described: ['describe'],
  connected: ['describe', 'reach'],
  unreachable: ['describe', 'reach', 'lose'],
};
const TO_CONNECTION: { readonly [S in Connection]: readonly Type[] } = { attached: [], detached: ['detach'] };

/** The state after the events, and the names of the last one's effects. */
function after(...events: Type[]) {
  let [snapshot, actions] = initialTransition(voiceSessionMachine, {} as VoiceSessionShell);
  for (const type of events) [snapshot, actions] = transition(voiceSessionMachine, snapshot, { type });
  const { value } = snapshot;
  const state = typeof value === 'object' ? `${value.open.media} ${value.open.connection}` : value;
  return [state, ...actions.map((action) => action.type)];
}

describe('the machine of a voice session', () => {
  for (const media of Object.keys(MEDIA) as Media[])
    for (const connection of Object.keys(CONNECTION) as Connection[])
      for (const type of EVENTS) {
        const path = [...TO_MEDIA[media], ...TO_CONNECTION[connection]];
        const [next = connection, ...effects] = CONNECTION[connection][type] ?? [];
        const isOver = next === 'ended' || next === 'expired';
        const state = isOver ? next : `${MEDIA[media][type] ?? media} ${next}`;
        it(`${type} in ${media} ${connection} leads to ${[state, ...effects].join(' and ')}`, () => {
          expect(after(...path)[0]).toBe(`${media} ${connection}`);
          expect(after(...path, type)).toEqual([state, ...effects]);
        });
      }

  for (const [state, path] of [
    ['ended', ['end']],
    ['expired', ['detach', 'expire']],
  ] as const)
    it(`leaves ${state} by no event`, () => {
      for (const type of EVENTS) expect(after(...path, type)).toEqual([state]);
    });

  it('has exactly the states and events of the table', () => {
    const open = voiceSessionMachine.states.open!.states;
    expect(Object.keys(voiceSessionMachine.states).sort()).toEqual(['ended', 'expired', 'open']);
    expect(Object.keys(open.media!.states)).toEqual(Object.keys(MEDIA));
    expect(Object.keys(open.connection!.states)).toEqual(Object.keys(CONNECTION));
    expect([...new Set(voiceSessionMachine.events)].sort()).toEqual([...EVENTS].sort());
  });
});
