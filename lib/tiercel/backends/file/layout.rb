# frozen_string_literal: true

require "digest/md5"
require_relative "../../forks"
require_relative "../key_memo"

module Tiercel
  module Backends
    class File < Backend
      # Where things are below the folder of the cache:
      #
      #   tiercel-v1/00 .. tiercel-v1/ff          folders of entries, by the first byte of the digest
      #   tiercel-v1/3f/3fa2...                   an entry, named by the MD5 digest of its key
      #   tiercel-v1/3f/.new-PID-RANDOM           an entry that is being written, under the lock
      #   tiercel-v1/locks/00 .. 1f               locks with the ledger of what the folders hold
      #
      # The version is in the path, so that another layout can stand beside it.
      # The digest only has to be safe as a name: the key is in the file and is
      # compared, so of two keys with one digest the later write wins.
      class Layout
        VERSION = "tiercel-v1"
        FOLDERS = 256
        STRIPES = 32
        # @return [String] absolute
        attr_reader :root

        # @param directory [String]
        def initialize(directory)
          @root = ::File.join(::File.expand_path(directory), VERSION)
          @paths = KeyMemo.new { |key| path_of(Digest::MD5.hexdigest(key)) } # spares the digest for keys in use
        end

        # @param key [String]
        # @return [String] the path of its entry
        def path(key) = @paths[key]

        # @param path [String] from {#path}
        # @return [Integer] the number of its folder
        def folder_of(path) = path.byteslice(@root.bytesize + 1, 2).hex

        # @param number [Integer]
        # @return [String]
        def folder(number) = format("%s/%02x", @root, number)

        # @param number [Integer] of a stripe
        # @return [String]
        def lock(number) = format("%s/locks/%02x", @root, number)

        # @param path [String] of an entry
        # @return [String] where it is written before it takes its place
        def temporary(path) = "#{::File.dirname(path)}/#{TEMPORARY}#{Process.pid}-#{process_digits}"

        TEMPORARY = ".new-"
        # Of an entry, and of what a writer has not finished.
        NAMES = /\A(?:[0-9a-f]{32}|\.new-[0-9]+-[0-9a-f]+)\z/

        # @param name [String] a file's name
        # @return [Boolean] whether it is what a writer left behind, if nobody holds the lock
        def self.temporary?(name) = name.start_with?(TEMPORARY)

        # @param name [String] a file's name
        # @return [Boolean] whether it is an entry's or a writer's: others are not touched, and NFS keeps removed files
        #   that are open as .nfs...
        def self.ours?(name) = name.match?(NAMES)

        private

        def path_of(digest) = "#{@root}/#{digest[0, 2]}/#{digest}".freeze

        # On a network file system other machines have the same process ids.
        def process_digits
          unless Forks.current?(@process)
            @process = Forks.current
            @digits = Random.urandom(4).unpack1("H8")
          end
          @digits
        end
      end
    end
  end
end
