# frozen_string_literal: true

%w[fileutils json rbconfig socket digest open3 uri etc tmpdir time tempfile timeout stringio shellwords io/wait]
  .each { |file| require file }
require_relative "lab/version"
require_relative "lab/errors"

module Tiercel
  # The instrument that measures and compares cache stores. Its command line is `tiercel-lab` (in this repository:
  # `bin/lab`); see tiercel-lab/docs/lab.md.
  #
  # A constant loads its file on first use, so a worker process loads only what it needs.
  module Lab
    # Declares a benchmark, in a file that `gate` measures:
    #
    #   require "my_gem"
    #
    #   text = File.read(File.expand_path("page.txt", __dir__))
    #   Tiercel::Lab.benchmark("parse a page", expect: 42) { MyGem.parse(text).size }
    #
    # @param name [String] unique name of its cell
    # @param setup [#call, nil] called once, untimed; the block receives its return value
    # @param expect [Object, Proc, nil] the expected return value, or a Proc that checks it (exit code 4 if it is wrong)
    # @param clock [Symbol] :cpu; :wall for blocks that wait for a server or a disk
    # @yield the timed part
    # @return [void]
    def self.benchmark(name, setup: nil, expect: nil, clock: :cpu, &block)
      Benchmarks.add(Benchmark.new(name:, setup:, expect:, clock:, block:))
    end

    # @raise [CannotRun] with a command for the user to run
    def self.load_gem(feature)
      require feature
    rescue LoadError => e
      remedy = ENV.fetch("TIERCEL_LAB_INSTALL") { "add gem #{feature.inspect} to the Gemfile" }
      raise CannotRun, "gem #{feature} is not in the bundle: #{remedy} (#{e.message})"
    end

    # Declares the constants of a namespace.
    #
    # @param namespace [Module]
    # @param files [Hash{String => Array<Symbol>}] constants by file
    def self.declare(namespace, files)
      files.each { |file, names| names.each { |name| namespace.autoload(name, File.join(__dir__, "lab", file)) } }
    end

    declare self,
            "catalogue" => %i[Catalogue], "folders" => %i[Folder UserFolders], "statistics" => %i[Statistics],
            "servers" => %i[Servers], "network" => %i[Network], "values" => %i[Value Values],
            "operations" => %i[Operation Operations], "benchmarks" => %i[Benchmark Benchmarks],
            "stores" => %i[Contestant Contestants StoreOptions], "stores/raw_socket" => %i[RawSocket RawStore],
            "stores/clients" => %i[Clients], "serialization" => %i[Serialization], "compression" => %i[Compression],
            "answer" => %i[Answer], "history" => %i[History], "engine" => %i[Engine], "report" => %i[Report],
            "load" => %i[Load], "sides" => %i[Sides], "published" => %i[Published], "cli" => %i[CLI]
  end
end
