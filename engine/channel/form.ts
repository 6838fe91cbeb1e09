import { type ErrorTree, invalidField, type Refusal, refusal, treeKey } from '../../protocol/refusal.ts';

export type FieldPath = readonly (string | number)[];

/** Errors reported at most; bounds the reply to a request with thousands of wrong fields. */
const ERRORS_MAX = 100;

/** Collects the wrong fields of a request, so that one 50035 names them all. */
export class Form {
  #tree: ErrorTree | null = null;
  #count = 0;

  /** Reports a wrong field. Errors inside a field replace errors of the field as a whole. */
  add(path: FieldPath, code: string, message: string): void {
    if (this.#count >= ERRORS_MAX) return;
    this.#count += 1;
    this.#tree ??= {};
    let node = this.#tree;
    for (const key of path) {
      delete node._errors;
      node = childOf(node, key) ?? addChild(node, key);
    }
    const { _errors: said = [], ...parts } = node;
    if (Object.keys(parts).length === 0) node._errors = [...said, { code, message }];
  }

  /** Whether this path or a path below it was reported. */
  isWrong(path: FieldPath): boolean {
    let node = this.#tree;
    for (const key of path) node = node && childOf(node, key);
    return node !== null;
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

function childOf(node: ErrorTree, key: string | number): ErrorTree | null {
  const name = treeKey(key);
  const child = Object.hasOwn(node, name) ? node[name] : undefined;
  return child === undefined || Array.isArray(child) ? null : child;
}

function addChild(node: ErrorTree, key: string | number): ErrorTree {
  const child: ErrorTree = {};
  node[treeKey(key)] = child;
  return child;
}

/** A 50035 for text over `max` code points. */
export const tooLong = (path: FieldPath, max: number): Refusal =>
  invalidField(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`);
