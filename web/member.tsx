import type { Directory, VoiceState } from './directory.ts';

/** The display name of a user; the end of the id until the name is known. */
export function nameOf(directory: Directory, userId: string): string {
  const person = directory.people.get(userId) ?? (directory.self?.id === userId ? directory.self : undefined);
  return person?.name || `User ${userId.slice(-4)}`;
}

interface MemberProps {
  readonly name: string;
  readonly userId: string;
  readonly isSelf: boolean;
  readonly state: VoiceState;
  /** Audio level, 0 to 1. */
  readonly level: number;
  /** Whether the member is in the encrypted group; null without encryption. */
  readonly secured: boolean | null;
}

/** Level above which a ring is shown; the ring's width follows the level. */
const AUDIBLE = 0.01;

export function Member({ name, userId, isSelf, state, level, secured }: MemberProps) {
  const speaks = level > AUDIBLE && !state.muted;
  const ring = speaks ? Math.min(8, 3 + level * 20) : 0;
  const notes = [
    isSelf && 'you',
    state.silenced ? 'silenced' : state.muted && 'muted',
    state.deafened && 'deafened',
    secured === false && 'joining',
  ].filter((note) => note !== false);
  return (
    <li class={speaks ? 'member speaks' : 'member'} data-member={userId}>
      <Face userId={userId} name={name} ringPx={ring} />
      <span class="name">{name}</span>
      <span class="dim small">{notes.length > 0 ? notes.join(' · ') : speaks ? 'speaking' : '\u00a0'}</span>
    </li>
  );
}

interface FaceProps {
  readonly userId: string;
  readonly name: string;
  /** Hash of the picture; null for initials. */
  readonly avatar?: string | null;
  readonly ringPx: number;
}

/** A user's avatar, or the initials; in a ring while the user speaks. */
export function Face({ userId, name, avatar = null, ringPx }: FaceProps) {
  return (
    <span class="face" style={{ '--ring': `${ringPx}px`, '--hue': hueOf(userId) }} aria-hidden="true">
      {avatar === null ? initialsOf(name) : <img src={`/avatars/${userId}/${avatar}.png?size=64`} alt="" />}
    </span>
  );
}

const initialsOf = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('');

/** A colour that is constant for a user. */
const hueOf = (userId: string): string =>
  String([...userId].reduce((sum, digit) => (sum * 31 + Number(digit)) % 360, 7));
