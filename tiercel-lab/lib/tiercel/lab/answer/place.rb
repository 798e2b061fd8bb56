# frozen_string_literal: true

require "tiercel/sizes"
require_relative "../errors"
require_relative "../stores"

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
      # @!attribute [r] memory_of
      #   @return [Symbol, nil] whether each :process or each :machine has such memory; nil: a disk or a server alone
      # @!attribute [r] remote
      #   @return [Boolean] whether the user's server runs on another machine
      # @!attribute [r] bounded
      #   @return [Boolean] whether it keeps within a size
      # @!attribute [r] given_bytes
      #   @return [Integer, nil] the size of its memory, if its text has one
      Place = Data.define(:reach, :keeps, :near, :segment, :memory_of, :remote, :bounded, :given_bytes) do
        def initialize(reach:, keeps:, near: false, segment: false, memory_of: nil, remote: false, bounded: true,
                       given_bytes: nil) = super
      end

      class Place
        SERVERS = %w[redis rediss unix redis+cluster memcached].freeze
        SEGMENTS = { "memory" => :process, "shared" => :machine }.freeze
        # Folders in memory.
        TMPFS = %r{\A(?:\w+:)*(?:tmpfs(?=#|\z)|(?:/dev/shm|/run)(?=[/?#]|\z))}
        # A socket of a server for Rails' stores.
        SOCKET = %r{\A\w+:(?:unix:|/(?!/))}
        SIZE = /\bsize=([\d.]+\w*)/

        class << self
          # @param text [String] text of a contestant, without a name of the user's
          # @param medium [String, nil] see {Contestant}; nil if the store's type is known here
          # @return [Place]
          def of(text, medium = nil)
            parsed = Contestants.parse(text)
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
                      reach: SEGMENTS[scheme] || reach(scheme), **memory(near, urls, text) }
            return new(keeps: :server, remote: remote?(urls.last), **facts) if SERVERS.include?(scheme)
            new(keeps: SEGMENTS.key?(scheme) || folder?(urls.last) ? :memory : :disk, **facts)
          end

          # The configuration's line gives a size to one memory only: a segment and a folder in memory need theirs.
          def memory(near, urls, text)
            folder = urls.last if folder?(urls.last)
            places = [near, folder].compact
            sizes = places.map { |url| size(url, urls, text) }
            { memory_of: near ? SEGMENTS[scheme(near)] : (:machine if folder),
              bounded: places.size < 2 || sizes.all?, given_bytes: (sizes.sum if sizes.any? && sizes.all?) }
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
            else new(reach: :process, keeps: :memory, memory_of: :process, given_bytes: size(text, [text], text))
            end
          end

          def server(text, medium)
            return new(reach: :machine, keeps: :server) if SOCKET.match?(text)
            new(reach: :network, keeps: :server, remote: medium == "remote")
          end

          def folder(path)
            return new(reach: :machine, keeps: :disk) unless TMPFS.match?(path)
            new(reach: :machine, keeps: :memory, memory_of: :machine, bounded: false)
          end
        end
      end
    end
  end
end
