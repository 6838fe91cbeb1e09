/** What the owner of the channel says a user may do in the call; see `Seat`. */
export interface Rights {
  readonly silenced: boolean;
  readonly deafened: boolean;
  readonly mayStream: boolean;
  readonly mayPrioritize: boolean;
}

/** A user's part in who hears whom. */
export interface Gate {
  readonly speaks: boolean;
  readonly streams: boolean;
  readonly hears: boolean;
}

/** A user as `hears` sees it. */
export interface Party {
  readonly userId: string;
  readonly rights: Rights;
  /** Users who may hear this one, as the embedding program says; null: everyone. */
  readonly audience: ReadonlySet<string> | null;
}

/** What mute, deafen, stage suppression and permissions, all of them in the user's rights, come to. */
export const gateOf = (rights: Rights): Gate => ({
  speaks: !rights.silenced,
  streams: rights.mayStream,
  hears: !rights.deafened,
});

/**
 * Who hears whom in a call. Media is told its two halves, `gateOf` of everyone and the audience of those who have one,
 * and forwards accordingly.
 */
export function hears(listener: Party, speaker: Party): boolean {
  if (listener.userId === speaker.userId) return false;
  if (!gateOf(speaker.rights).speaks || !gateOf(listener.rights).hears) return false;
  return speaker.audience === null || speaker.audience.has(listener.userId);
}
