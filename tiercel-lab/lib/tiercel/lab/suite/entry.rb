# frozen_string_literal: true

require "stringio"
require_relative "../errors"

module Tiercel
  module Lab
    module Suite
      # A table of `lab all`: its command, and what it is called with there.
      #
      # @!attribute [r] name
      #   @return [String] the command's
      # @!attribute [r] arguments
      #   @return [Array<String>]
      # @!attribute [r] seconds
      #   @return [Numeric] what a quick run takes, where the command itself cannot say
      Entry = Data.define(:name, :arguments, :seconds) do
        def initialize(name:, arguments: [], seconds: 60) = super

        # @return [Boolean]
        def known? = Commands.known?(name)

        # @param more [Array<String>] what all tables are called with
        # @return [Float] seconds
        def expected_seconds(more)
          return 0.0 unless known?
          command = Commands.fetch(name).new(out: StringIO.new, err: StringIO.new, program: "")
          (command.estimate([*arguments, *more]) || seconds).to_f
        rescue UsageError, OptionParser::ParseError
          seconds.to_f # the run itself says what is wrong
        end
      end

      # Every table of the articles, in their order, then what explains them. Tables that compare what the reader names
      # have something to compare here: the same backend with and without its fast path.
      ENTRIES = [
        Entry.new(name: "capabilities"), Entry.new(name: "workers"), Entry.new(name: "compressors"),
        Entry.new(name: "serializers"), Entry.new(name: "end-to-end"), Entry.new(name: "latency"),
        Entry.new(name: "sizes"),
        Entry.new(name: "client"), Entry.new(name: "profile", arguments: ["tiercel:shared:"], seconds: 20),
        Entry.new(name: "sqlite"),
        Entry.new(name: "compare", arguments: ["tiercel:shared:#fast_path=false", "tiercel:shared:"], seconds: 10),
        Entry.new(name: "http"), Entry.new(name: "layers"), Entry.new(name: "hit-ratio"), Entry.new(name: "scaling")
      ].freeze
    end
  end
end
