/** What the owner of the channel says a user may do in the call; see `Seat`. */
export interface Rights {
  readonly silenced: boolean;
  readonly deafened: boolean;
  readonly mayStream: boolean;
  readonly mayPrioritize: boolean;
}

/** A user's part in who hears whom, which is worked out of everyone's by `hears` of `media/sfu/room.ts`. */
interface Gate {
  readonly speaks: boolean;
  readonly streams: boolean;
  readonly hears: boolean;
}

/** What mute, deafen, stage suppression and permissions, all of them in the user's rights, come to. */
export const gateOf = (rights: Rights): Gate => ({
  speaks: !rights.silenced,
  streams: rights.mayStream,
  hears: !rights.deafened,
});
