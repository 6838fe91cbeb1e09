import type { JoinRequestId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';

/** A question to new members. `values` are the rules of TERMS, `choices` the answers of MULTIPLE_CHOICE. */
export interface FormField {
  readonly field_type: 'TERMS' | 'TEXT_INPUT' | 'PARAGRAPH' | 'MULTIPLE_CHOICE';
  readonly label: string;
  readonly required: boolean;
  readonly description?: string | null;
  readonly placeholder?: string;
  readonly values?: readonly string[];
  readonly choices?: readonly string[];
}

/** The form of membership screening; the guild's feature says whether it is asked. */
export interface MemberVerification {
  /** When it was last changed. */
  readonly version: string;
  readonly form_fields: readonly FormField[];
  readonly description: string | null;
}

/** True for terms, the number of a choice, or text. */
export type FieldAnswer = boolean | number | string;

/** A member's progress through the form. A user has one per guild; the next join replaces it. */
export interface JoinRequest {
  readonly id: JoinRequestId;
  readonly user: APIUser;
  readonly status: 'STARTED' | 'SUBMITTED' | 'REJECTED' | 'APPROVED';
  readonly created_at: string;
  readonly reviewed_at: string | null;
  readonly rejection_reason: string | null;
  readonly form_responses: readonly (FormField & { readonly response?: FieldAnswer })[] | null;
  /** The moderator who decided; null while undecided, and where the form decided. */
  readonly actioned_by_user: APIUser | null;
}
