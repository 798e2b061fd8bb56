# frozen_string_literal: true

require "fileutils"
require "json"
require "securerandom"

# The files of one process for readers on the same machine. ID.json has its figures and is always replaced as a whole.
# ID.reads is a ring of its sampled reads. The process locks ID.reads for its whole life, so that readers, even in other
# containers, recognize the files of dead processes. Their figures are added to `past.json`, and the files are removed.
#
# @private
class Tiercel::Insight::ProcessFile
  # A sampled read or write: hash, time in milliseconds (modulo 2**32), the value's bytes, and one number: the number of
  # its class (11 bits), whether it is a write, and its TTL in seconds (20 bits; 0: none or unknown).
  RECORD = "L<L<L<L<"
  CLASS_BITS = 12
  WRITTEN = 1 << 11
  RECORD_BYTES = 16
  RECORDS = 32_768
  # Values in place of the bytes. From COST on: a miss, with the microseconds of its block.
  COST = 0x8000_0000
  MISS = 0xFFFF_FFFF
  SIZE_UNKNOWN = 0xFFFF_FFFE
  # Number of file ids that `past.json` remembers, so that an interrupted addition is not repeated.
  REMEMBERED_IDS = 500

  # @return [String]
  attr_reader :id
  # @return [Integer] number of records written so far
  attr_reader :written

  # @param folder [String]
  def initialize(folder)
    @folder = folder
    @id = "#{Process.pid}-#{SecureRandom.hex(6)}"
    FileUtils.mkdir_p(folder, mode: 0o700)
    @ring = File.open("#{folder}/#{@id}.reads", File::RDWR | File::CREAT | File::EXCL, 0o600)
    @ring.flock(File::LOCK_EX)
    @written = 0
  end

  # @param records [String] whole records
  # @return [void]
  def append(records)
    until records.empty?
      at = @written % RECORDS
      part = records.byteslice(0, (RECORDS - at) * RECORD_BYTES)
      @ring.pwrite(part, at * RECORD_BYTES)
      @written += part.bytesize / RECORD_BYTES
      records = records.byteslice(part.bytesize..)
    end
  end

  # Forgets all records.
  def restart = @written = 0

  # @param figures [Hash]
  # @return [void]
  def write(figures) = self.class.replace("#{@folder}/#{@id}.json", JSON.generate(figures))

  # Closes the parent's file in a child, without changing the file.
  def close = @ring.close

  class << self
    # @param folder [String]
    # @return [Array<Hash>] the figures of `past.json` and of each process; damaged files are left out
    def all(folder) = [load("#{folder}/past.json"), *Dir["#{folder}/*-*.json"].map { |path| load(path) }].compact

    # @param folder [String]
    # @param id [String]
    # @return [String] the ring's records, oldest first
    def ring(folder, id, written)
      bytes = File.binread("#{folder}/#{id}.reads")
      return bytes.byteslice(0, written * RECORD_BYTES) if written <= RECORDS
      at = (written % RECORDS) * RECORD_BYTES
      (bytes.byteslice(at..) || "") + bytes.byteslice(0, at)
    rescue SystemCallError
      ""
    end

    # Adds the files of dead processes to `past.json`. Every process may call this at any time.
    #
    # @param folder [String]
    # @return [void]
    def fold(folder)
      dead = Dir["#{folder}/*-*.reads"].select { |path| dead?(path) }
      return if dead.empty?
      File.open("#{folder}/fold.lock", File::RDWR | File::CREAT, 0o600) do |lock|
        next unless lock.flock(File::LOCK_EX | File::LOCK_NB)
        dead.each { |path| fold_one(folder, File.basename(path, ".reads")) }
      end
    rescue SystemCallError
      nil
    end

    # @param path [String]
    # @param text [String]
    # @return [void]
    def replace(path, text)
      File.write("#{path}.new-#{Process.pid}", text, perm: 0o600)
      File.rename("#{path}.new-#{Process.pid}", path)
    end

    private

    def load(path)
      figures = JSON.parse(File.read(path, encoding: "UTF-8"))
      figures if figures.is_a?(Hash) && figures["figures"].is_a?(Hash)
    rescue SystemCallError, JSON::ParserError, EncodingError
      nil
    end

    # A new process locks its file right after it has created the file.
    def dead?(path)
      File.open(path) { |file| file.flock(File::LOCK_EX | File::LOCK_NB) && file.mtime < Time.now - 5 }
    rescue SystemCallError
      false
    end

    def fold_one(folder, id)
      one = load("#{folder}/#{id}.json")
      past = load("#{folder}/past.json")
      unless one.nil? || past&.fetch("ids", [])&.include?(id)
        merged = Tiercel::Insight::Figures.merge([past, one].compact)
        ids = [*past&.fetch("ids", nil), id].last(REMEMBERED_IDS)
        replace("#{folder}/past.json", JSON.generate(merged.merge("ids" => ids)))
      end
      FileUtils.rm_f(["#{folder}/#{id}.json", "#{folder}/#{id}.reads"])
    end
  end
end
