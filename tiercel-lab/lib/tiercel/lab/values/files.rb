# frozen_string_literal: true

require "json"
require_relative "value"

module Tiercel
  module Lab
    module Values
      # The user's files: each file is a value (UTF-8 if it is valid, otherwise binary).
      class Files < Value
        # Maximum number of files; the first ones in the order of their names are used.
        MOST_FILES = 1_000
        MOST_BYTES = 64 * 1024 * 1024

        # @param directory [String]
        # @param name [String]
        # @param parse [Boolean] whether to parse files called *.json, instead of using their text
        # @raise [UsageError] if the directory has no file
        def initialize(directory:, name: "data", parse: false)
          @parse = parse ? true : false
          @directory = File.expand_path(directory)
          raise UsageError, "--data #{directory}: the folder does not exist" unless File.directory?(@directory)
          found = readable
          raise UsageError, "--data #{directory}: there is no readable file in it" if found.empty?
          @paths = within_bytes(found)
          if @paths.empty?
            raise UsageError, "--data #{directory}: #{found.first} has #{File.size(found.first)} bytes, expected " \
                              "at most #{MOST_BYTES} in all files"
          end
          super(name:, title: "#{@paths.size} #{@paths.one? ? "file" : "files"} of #{directory}", count: @paths.size)
        end

        def approximate_bytes = [@paths.sum { |path| File.size(path) } / @paths.size, 1].max

        def generate(_seed) = @paths.map { |path| read(path) }

        def to_spec = super.merge("directory" => @directory, "parse" => @parse)

        private

        def readable
          Dir.glob("**/*", base: @directory).sort.map { |path| File.join(@directory, path) }
             .select { |path| File.file?(path) && File.readable?(path) }.first(MOST_FILES)
        end

        def within_bytes(paths)
          total = 0
          paths.take_while { |path| (total += File.size(path)) <= MOST_BYTES }
        end

        def read(path)
          bytes = File.binread(path)
          text = bytes.dup.force_encoding(Encoding::UTF_8)
          return bytes unless text.valid_encoding?
          @parse && path.end_with?(".json") ? JSON.parse(text) : text
        rescue JSON::ParserError => e
          raise UsageError, "--data #{path}: #{e.message.lines.first.strip}"
        end
      end
    end
  end
end
