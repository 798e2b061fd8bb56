# frozen_string_literal: true

module Tiercel
  class Account
    # The words that classes show: parts of keys that at least 20 different keys share. The account's file contains
    # them, so all its processes show the same words. Other parts of keys never reach the file.
    #
    # @private
    class Words
      SHARED_BY = 20
      SLOTS = 4_096
      WORD_BYTES = 32
      BYTES = 8 + (SLOTS * WORD_BYTES)
      # Maximum number of candidates: parts of keys that fewer than {SHARED_BY} keys have shared so far.
      CANDIDATES = 1_024
      # A plain word, perhaps with a short number. Addresses, tokens, long numbers and digits alone do not match.
      FORM = /\A[A-Za-z_][A-Za-z_-]{0,25}\d{0,4}\z/
      private_constant :FORM

      # @param medium [Book]
      # @param offset [Integer] the words' place in the medium
      def initialize(medium, offset)
        @medium = medium
        @offset = offset
        @known = {}
        @read = 0
        @new = []
        @candidates = {}
      end

      # @param part [String] a part of a key
      # @param position [Integer] the number of the part
      # @param key_hash [Integer] the key's hash
      # @return [Boolean] whether the name of a class of keys may contain the word
      def show?(part, position, key_hash)
        return false unless FORM.match?(part)
        return true if @known.key?(part)
        keys = @candidates.delete(at = [position, part].hash) || []
        keys << key_hash unless keys.include?(key_hash)
        return learn(part) if keys.size >= SHARED_BY
        @candidates.shift if @candidates.size >= CANDIDATES
        @candidates[at] = keys
        false
      end

      # Writes the words that this process has learned, and reads those of other processes. The caller holds the lock.
      #
      # @return [void]
      def exchange
        count = self.count
        @read = 0 if count < @read
        take(count) if count > @read
        fresh = @new.shift(@new.size) - known_to_all
        fresh = fresh.first(SLOTS - count)
        return if fresh.empty?
        @medium.pwrite(fresh.map { |word| [word].pack("a#{WORD_BYTES}") }.join, @offset + 8 + (count * WORD_BYTES))
        @medium.pwrite([count + fresh.size].pack("Q<"), @offset)
        fresh.each { |word| @known[word] = true }
        @read = count + fresh.size
      end

      # Reads the words that other processes have learned. Needs no lock.
      #
      # @return [void]
      def refresh
        count = self.count
        take(count) if count > @read
      end

      private

      def count = [@medium.pread(8, @offset).unpack1("Q<"), SLOTS].min

      def take(count)
        bytes = @medium.pread((count - @read) * WORD_BYTES, @offset + 8 + (@read * WORD_BYTES))
        bytes.unpack("Z#{WORD_BYTES}" * (count - @read)).each { |word| @known[word.force_encoding("UTF-8")] = true }
        @read = count
      end

      def known_to_all = @known.select { |_, shared| shared }.keys

      def learn(part)
        return false if @known.size >= SLOTS
        @known[part.dup.freeze] = false # true once the others know it
        @new << part
        true
      end
    end
  end
end
