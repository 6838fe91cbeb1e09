import type { EphemeralMessage, Interaction } from '../../engine/interaction/interaction.ts';
import type { MessageId } from '../../protocol/ids.ts';

/** Interactions and ephemeral messages whose tokens have ended. */
export interface EndedInteractions {
  readonly interactions: readonly Interaction[];
  readonly messages: readonly EphemeralMessage[];
}

export interface InteractionStore {
  get(ownerId: string, id: string): Promise<Interaction | null>;
  /** Interactions with ids above `after`, oldest first. */
  since(after: string, limit: number): Promise<Interaction[]>;
  ephemeral(ownerId: string, messageId: MessageId): Promise<EphemeralMessage | null>;
  /** Deletes up to `limit` of each whose interaction's id is below `beforeId`. @returns what it deleted. */
  end(beforeId: string, limit: number): Promise<EndedInteractions>;
}
