# frozen_string_literal: true

require_relative "lib/tiercel/lab/version"

Gem::Specification.new do |spec|
  spec.name = "tiercel-lab"
  spec.version = Tiercel::Lab::VERSION
  spec.authors = ["The Tiercel developers"]
  spec.summary = "Measures and compares cache stores, serializers, compressors and distances"
  spec.description = "Interleaved, repeated measurements with intervals and a printed noise floor, on " \
                     "synthetic data or your own, for any cache store that Rails can mount."
  spec.homepage = "https://github.com/tiercel/tiercel"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.3"
  spec.metadata = { "rubygems_mfa_required" => "true" }

  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "exe/*", "gemfiles/*.gemfile", "examples/**/*", "schema/*.json", "README.md",
        "LICENSE"].select { |path| File.file?(path) }
  end
  spec.bindir = "exe"
  spec.executables = ["tiercel-lab"]
  spec.require_paths = ["lib"]

  spec.add_dependency "tiercel", ">= 0.1", "< 0.2"
end
