import {
  type ErrorTree,
  type FieldError,
  invalidField,
  type Refusal,
  refusal,
} from '../../protocol/refusal.ts';

export type FieldPath = readonly (string | number)[];

/** Errors of one tree reported at most; a request with thousands of wrong fields gets no larger answer. */
const ERRORS_MAX = 100;

/** Collects wrong fields of a request, so that one 50035 names them all. */
export class Form {
  #tree: ErrorTree | null = null;
  #count = 0;

  add(path: FieldPath, code: string, message: string): void {
    if (this.#count >= ERRORS_MAX) return;
    this.#count += 1;
    this.#tree ??= {};
    let node = this.#tree;
    for (const key of path) {
      const next = node[key];
      node = Array.isArray(next) || next === undefined ? addChild(node, String(key)) : next;
    }
    node._errors = [...(node._errors ?? []), { code, message }];
  }

  /** Whether something at this path, or below it, was named. */
  isWrong(path: FieldPath): boolean {
    let node: ErrorTree | FieldError[] | undefined = this.#tree ?? undefined;
    for (const key of path) node = node === undefined || Array.isArray(node) ? undefined : node[String(key)];
    return node !== undefined;
  }

  tooLong(path: FieldPath, max: number): void {
    this.add(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`);
  }

  required(path: FieldPath): void {
    this.add(path, 'BASE_TYPE_REQUIRED', 'This field is required');
  }

  /** The 50035 with everything collected; null when nothing was wrong. */
  refusal(): Refusal | null {
    return this.#tree && { ...refusal('INVALID_FORM_BODY'), errors: this.#tree };
  }
}

function addChild(node: ErrorTree, key: string): ErrorTree {
  const child: ErrorTree = {};
  node[key] = child;
  return child;
}

/** A 50035 for text over `max` code points. */
export const tooLong = (path: FieldPath, max: number): Refusal =>
  invalidField(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`);
