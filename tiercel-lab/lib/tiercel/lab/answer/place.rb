# frozen_string_literal: true

require "tiercel/sizes"
require_relative "../errors"
require_relative "../stores"
require_relative "constraints"

module Tiercel
  module Lab
    module Answer
      # Where a store keeps its entries, and which processes share them.
      #
      # @!attribute [r] reach
      #   @return [Symbol] which processes share its entries: those of a :process, a :machine or a :network
      # @!attribute [r] keeps
      #   @return [Symbol] medium of its entries: :memory, :disk or :server
      # @!attribute [r] near
      #   @return [Boolean] whether a near tier answers hits
      # @!attribute [r] segment
      #   @return [Boolean] whether it has a segment, alone or as a near tier
      # @!attribute [r] memories
      #   @return [Array<Memory>] its memories on the application's machine: segments, and folders in memory
      # @!attribute [r] remote
      #   @return [Boolean] whether the user's server runs on another machine
      # @!attribute [r] bounded
      #   @return [Boolean] whether it keeps within a size
      Place = Data.define(:reach, :keeps, :near, :segment, :memories, :remote, :bounded) do
        def initialize(reach:, keeps:, near: false, segment: false, memories: [], remote: false, bounded: true) = super
      end

      # @!attribute [r] of
      #   @return [Symbol] whether each :process or each :machine has it
      # @!attribute [r] bytes
      #   @return [Integer, nil] its size, if the store's text has one
      # @!attribute [r] least_bytes
      #   @return [Integer] the smallest possible size
      Memory = Data.define(:of, :bytes, :least_bytes)

      class Place
        SERVERS = %w[redis rediss unix redis+cluster memcached].freeze
        SEGMENTS = { "memory" => :process, "shared" => :machine }.freeze
        # Folders in memory. The lab's own folder for `file:` is one.
        TMPFS = %r{\A(?:\w+:)*(?:tmpfs(?=#|\z)|(?<=\Afile:)(?=[?#]|\z)|(?:/dev/shm|/run)(?=[/?#]|\z))}
        # A socket of a server for Rails' stores.
        SOCKET = %r{\A\w+:(?:unix:|/(?!/))}
        SIZE = /\bsize=([\d.]+\w*)/
        # The smallest segment, and the smallest folder or file of Tiercel's.
        SEGMENT_LEAST_BYTES = Constraints::MEGABYTE
        FOLDER_LEAST_BYTES = 4 * Constraints::MEGABYTE

        # @return [Symbol, nil] whether each :process or each :machine has its memory; nil: a disk or a server alone
        def memory_of = memories.last&.of

        # @return [Integer, nil] the size of its memories, if its text has all sizes
        def given_bytes = (memories.sum(&:bytes) if memories.any? && memories.all?(&:bytes))

        # @param workers [Integer] processes of a machine
        # @return [Integer] given sizes of all memories on a machine
        def taken_bytes(workers) = memories.sum { |one| one.bytes.to_i * (one.of == :process ? workers : 1) }

        class << self
          # @param text [String] text of a contestant, without a name of the user's
          # @param medium [String, nil] see {Contestant}; nil if the store's type is known here
          # @return [Place]
          def of(text, medium = nil)
            parsed = Contestants.parse(text, checks: false) # the folder may be on another machine
            return tiered(parsed.tiers, text) if parsed.is_a?(Contestants::TiercelStore)
            rails(text, medium || parsed.medium.to_s)
          rescue UsageError # a store of the user's whose file is not here
            rails(text, medium)
          end

          private

          def tiered(urls, text)
            urls = ["shared:"] if urls.empty?
            scheme = scheme(urls.last)
            near = urls.reverse.find { |url| SEGMENTS.key?(scheme(url)) }
            facts = { near: near != urls.last && !near.nil?, segment: !near.nil?,
                      reach: SEGMENTS[scheme] || reach(scheme), **memories(urls, text) }
            return new(keeps: :server, remote: remote?(urls.last), **facts) if SERVERS.include?(scheme)
            new(keeps: SEGMENTS.key?(scheme) || folder?(urls.last) ? :memory : :disk, **facts)
          end

          # The configuration's line gives a size to one memory only, so several memories need sizes in their text.
          def memories(urls, text)
            found = urls.filter_map { |url| memory(url, size(url, urls, text)) }
            { memories: found, bounded: found.size < 2 || found.all?(&:bytes) }
          end

          def memory(url, bytes)
            of = SEGMENTS[scheme(url)]
            return Memory.new(of:, bytes:, least_bytes: SEGMENT_LEAST_BYTES) if of
            Memory.new(of: :machine, bytes:, least_bytes: FOLDER_LEAST_BYTES) if folder?(url)
          end

          def folder?(url) = %w[file sqlite].include?(scheme(url)) && TMPFS.match?(url)

          def scheme(url) = url[/\A[^:]+/]

          # The size of a memory: in its URL, or as an option of a store without tiers.
          def size(url, urls, text) = Sizes.parse(url[SIZE, 1] || (text[/#.*#{SIZE}/, 1] if urls.one?))

          # A socket belongs to one machine.
          def reach(scheme) = SERVERS.include?(scheme) && scheme != "unix" ? :network : :machine

          def remote?(url) = !url.start_with?("unix:") && Contestants.distance(url.sub(/\A[^:]*:/, "")) == :remote

          def rails(text, medium)
            return folder(text.delete_prefix("file_store:")) if text.start_with?("file_store")
            case medium
            when "loopback", "remote" then server(text, medium)
            when "disk" then new(reach: :machine, keeps: :disk)
            else new(reach: :process, keeps: :memory, memories: [of_process(text)])
            end
          end

          def of_process(text) = Memory.new(of: :process, bytes: size(text, [text], text), least_bytes: 0)

          def server(text, medium)
            return new(reach: :machine, keeps: :server) if SOCKET.match?(text)
            new(reach: :network, keeps: :server, remote: medium == "remote")
          end

          def folder(path)
            return new(reach: :machine, keeps: :disk) unless TMPFS.match?(path)
            new(reach: :machine, keeps: :memory, bounded: false,
                memories: [Memory.new(of: :machine, bytes: nil, least_bytes: 0)])
          end
        end
      end
    end
  end
end
