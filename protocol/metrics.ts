/** A number that metrics show, read when they are asked for. Figures of one name differ in the values of their labels. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** How high it can get, where something bounds it. */
  readonly max?: number;
  read(): number | Promise<number>;
}
