# frozen_string_literal: true

require "digest/md5"
require_relative "../../forks"
require_relative "../key_memo"

module Tiercel
  module Backends
    class File < Backend
      # Names of the files and folders below the cache's folder:
      #
      #   tiercel-v1/00 .. tiercel-v1/ff          folders of entries, by the first byte of the digest
      #   tiercel-v1/3f/3fa2...                   an entry, named by the MD5 digest of its key
      #   tiercel-v1/3f/.new-PID-RANDOM           an entry that is being written, under the lock
      #   tiercel-v1/locks/00 .. 1f               locks with the ledgers of the folders
      #
      # The path contains the version, so that another layout can coexist. The digest need not be collision-free: the
      # file contains the key, and reads compare it. If two keys have the same digest, the later write wins.
      class Layout
        VERSION = "tiercel-v1"
        FOLDERS = 256
        STRIPES = 32
        # @return [String] absolute
        attr_reader :root
        # @return [Hash{String => String}] by key the path of its entry
        attr_reader :paths

        # @param directory [String]
        def initialize(directory)
          @root = ::File.join(::File.expand_path(directory), VERSION)
          @paths = KeyMemo.new { |key| path_of(Digest::MD5.hexdigest(key)) } # saves the digest for keys in use
        end

        # @param path [String] one of the paths of {#paths}
        # @return [Integer] the number of its folder
        def folder_of(path) = path.byteslice(@root.bytesize + 1, 2).hex

        # @param number [Integer]
        # @return [String]
        def folder(number) = format("%s/%02x", @root, number)

        # @param number [Integer] the number of a stripe
        # @return [String]
        def lock(number) = format("%s/locks/%02x", @root, number)

        # @param path [String] the path of an entry
        # @return [String] the path of the temporary file, before it is renamed
        def temporary(path) = "#{::File.dirname(path)}/#{TEMPORARY}#{Process.pid}-#{process_digits}"

        TEMPORARY = ".new-"
        # Names of entries and of unfinished files.
        NAMES = /\A(?:[0-9a-f]{32}|\.new-[0-9]+-[0-9a-f]+)\z/

        # @param name [String] a file's name
        # @return [Boolean] whether it is an unfinished file; if the lock is free, its writer has died
        def self.temporary?(name) = name.start_with?(TEMPORARY)

        # @param name [String] a file's name
        # @return [Boolean] whether it belongs to an entry or a writer. Other files are left alone: NFS, for example,
        #   keeps removed files that are open as .nfs...
        def self.ours?(name) = name.match?(NAMES)

        private

        def path_of(digest) = "#{@root}/#{digest[0, 2]}/#{digest}".freeze

        # Distinguishes processes of different machines on a network file system, because they can have the same
        # process id.
        def process_digits
          unless @process == Forks.current
            @process = Forks.current
            @digits = Random.urandom(4).unpack1("H8")
          end
          @digits
        end
      end
    end
  end
end
