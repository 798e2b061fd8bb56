# frozen_string_literal: true

require "ipaddr"
require_relative "../check"

module Tiercel
  class Doctor
    module Checks
      # Does Marshal load what came over a network without TLS? Whoever can change those bytes runs code here.
      class Wire < Check
        private

        def examine
          return unless subject.tiercel? && subject.last.remote?
          url = subject.store.configuration.url
          return sound("the connection uses TLS") if tls?(url)
          return sound("the server is on this machine") if local?(url)
          return sound("nothing is loaded with Marshal") unless subject.store.configuration.marshal?
          found("#{url}: values are loaded with Marshal over a network without TLS: a host on the way can run its " \
                "code in this process", fix: "use TLS (rediss://, or ssl: true for memcached), or marshal: false")
        end

        def tls?(url) = url.scheme.start_with?("rediss") || subject.store.configuration.tls?

        def local?(url)
          return true if url.scheme == "unix" || url.place.start_with?("/")
          url.to_s.delete_prefix("#{url.scheme}:").delete_prefix("//").split("/").first.to_s.split(",").all? do |server|
            host = server[/\A\[([^\]]*)\]|\A([^:]*)/].delete("[]")
            ["", "localhost"].include?(host) || loopback?(host)
          end
        end

        def loopback?(host)
          IPAddr.new(host).loopback?
        rescue IPAddr::Error
          false
        end
      end
    end
  end
end
