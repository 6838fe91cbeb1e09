/**
 * Whether a session is shown the presences of a guild only near its user. Bots choose by their intents instead.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#identify, `large_threshold`
 */
export const isFarIn = (
  { memberCount }: { readonly memberCount: number },
  { bot, largeThreshold }: { readonly bot: boolean; readonly largeThreshold?: number },
): boolean => !bot && largeThreshold !== undefined && memberCount > largeThreshold;

type VoiceStates<Id extends string> = ReadonlyMap<Id, { readonly channel_id: string | null }>;

/** The user, and everyone in the same call. */
export function nearTo<Id extends string>(
  { voiceStates }: { readonly voiceStates: VoiceStates<Id> },
  userId: Id,
): Id[] {
  const channelId = voiceStates.get(userId)?.channel_id ?? null;
  if (channelId === null) return [userId];
  return [...voiceStates].flatMap(([id, { channel_id }]) => (channel_id === channelId ? [id] : []));
}
