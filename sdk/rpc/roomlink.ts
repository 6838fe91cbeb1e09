import type { VoiceConnectionState } from '../../protocol/rpc.ts';
import type { VoiceSettings } from './voicesettings.ts';

/**
 * The link between the voice-room page and the person's RPC server: a WebSocket of this machine. The person opens the page with
 * the port and a secret in the fragment, and each side proves to the other that it knows the secret.
 */
export const ROOM_LINK = {
  path: '/voice-room',
  /** `#helper=<port>.<secret>` */
  fragment: 'helper',
  frame_bytes_max: 64 << 10,
} as const;

/** The text that a side signs with the secret: the other side's nonce. */
export const challengeOf = (side: 'page' | 'helper', nonce: string): string => `${side}:${nonce}`;

/** Messages of the RPC server. */
export type ToRoom =
  | { readonly op: 'challenge'; readonly proof: string; readonly nonce: string }
  | { readonly op: 'select'; readonly guild_id: string; readonly channel_id: string }
  | { readonly op: 'leave' }
  | { readonly op: 'settings'; readonly settings: VoiceSettings }
  | { readonly op: 'user'; readonly user_id: string; readonly gain: number }
  | { readonly op: 'hold'; readonly active: boolean };

/** Messages of the page. */
export type FromRoom =
  | { readonly op: 'hello'; readonly nonce: string }
  | { readonly op: 'proof'; readonly proof: string; readonly user_id: string }
  | { readonly op: 'settings'; readonly settings: VoiceSettings }
  | {
      readonly op: 'speaking';
      readonly channel_id: string;
      readonly user_id: string;
      readonly speaking: boolean;
    }
  | { readonly op: 'connection'; readonly state: VoiceConnectionState; readonly ping: number | null };
