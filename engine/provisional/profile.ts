import { invalidField, type Refusal } from '../../protocol/refusal.ts';

/** A player's profile as a game sets it. */
export interface Profile {
  /** 1 to 1024 characters. */
  readonly username: string | null;
  /** The game's own data; never interpreted. */
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly data: ProfileData | null;
}

/**
 * Figures of a player.
 *
 * @source https://github.com/discordjs/discord-api-types/blob/main/payloads/v10/applicationIdentityProfile.ts
 */
interface ProfileData {
  readonly primary?: Readonly<Record<string, unknown>>;
  readonly dynamic?: readonly object[];
}

/** Absent keys stay as they are; `data` and `metadata` are replaced as a whole. */
export type ProfileChange = Partial<Profile>;

export const EMPTY_PROFILE: Profile = { username: null, metadata: null, data: null };

/** UTF-8 bytes of `data` as JSON, and of `metadata`. */
export const PROFILE_BYTES_MAX = 10 * 1024;

const ENCODER = new TextEncoder();

/** The profile after a change, or the reason for a refusal. */
export function changeProfile(
  profile: Profile,
  change: ProfileChange,
): { readonly ok: true; readonly value: Profile } | { readonly ok: false; readonly refusal: Refusal } {
  for (const key of ['data', 'metadata'] as const) {
    const bytes = change[key] == null ? 0 : ENCODER.encode(JSON.stringify(change[key])).length;
    if (bytes > PROFILE_BYTES_MAX) {
      const message = `Must be ${PROFILE_BYTES_MAX} or fewer bytes as JSON.`;
      return { ok: false, refusal: invalidField([key], 'BASE_TYPE_MAX_LENGTH', message) };
    }
  }
  return { ok: true, value: { ...profile, ...change } };
}
