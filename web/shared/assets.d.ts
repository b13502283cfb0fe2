// Imports that are not code. Styles are bundled beside the page that imports
// them; a wasm file is copied under a content-hashed name and its import is
// that address.
declare module "*.css";
declare module "*.wasm" {
  const address: string;
  export default address;
}
