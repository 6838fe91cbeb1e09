/** The user's rights in the call as the owner of the channel states them; see `VoiceMember`. */
export interface Rights {
  readonly silenced: boolean;
  readonly deafened: boolean;
  readonly mayStream: boolean;
  readonly mayPrioritize: boolean;
}

/** One user's input to audibility; `receivesAudio` of `media/sfu/room.ts` combines the inputs of two users. */
export interface Gate {
  readonly speaks: boolean;
  readonly streams: boolean;
  readonly receives: boolean;
}

/** The result of mute, deafen, stage suppression and permissions, all of which are in the user's rights. */
export const gateOf = (rights: Rights): Gate => ({
  speaks: !rights.silenced,
  streams: rights.mayStream,
  receives: !rights.deafened,
});

export const sameGate = (a: Gate, b: Gate): boolean =>
  a.speaks === b.speaks && a.streams === b.streams && a.receives === b.receives;
