# SPDX-License-Identifier: Apache-2.0
# scripts/release writes version and hash of the release into a copy of this file.
#   nix run path:packaging/nix -- map /mnt/nas
{
  description = "Performance maps of storage: every cell with an interval and a verdict";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = nixpkgs.lib.genAttrs systems;
      package = pkgs: pkgs.python3Packages.buildPythonApplication rec {
        pname = "ioatlas";
        version = "@VERSION@";
        pyproject = true;
        # The source archive holds the explorer: nothing is fetched while it is built.
        src = pkgs.fetchurl {
          url = "https://files.pythonhosted.org/packages/source/i/ioatlas/ioatlas-${version}.tar.gz";
          sha256 = "@SHA256@";
        };
        build-system = [ pkgs.python3Packages.hatchling ];
        dependencies = with pkgs.python3Packages; [
          bcrypt
          click
          cryptography
          numpy
          orjson
          pydantic
          rich
          threadpoolctl
          tomlkit
        ];
        # As elsewhere: a newer fio on PATH goes before.
        makeWrapperArgs = [ "--suffix" "PATH" ":" (pkgs.lib.makeBinPath [ pkgs.fio pkgs.util-linux ]) ];
        pythonImportsCheck = [ "ioatlas" ];
        doCheck = false; # the tests drive servers and block devices
        meta = {
          description = "Performance maps of storage: every cell with an interval and a verdict";
          license = pkgs.lib.licenses.asl20;
          mainProgram = "ioatlas";
          platforms = systems;
        };
      };
    in
    {
      packages = each (system: { default = package nixpkgs.legacyPackages.${system}; });
      apps = each (system: {
        default = { type = "app"; program = "${self.packages.${system}.default}/bin/ioatlas"; };
      });
    };
}
