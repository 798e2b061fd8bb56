# frozen_string_literal: true

require "tiercel/errors"

module Tiercel
  module Lab
    module Servers
      # A server could not be started, or did not do what it was told.
      class Error < Tiercel::Error; end

      # The server's program is not on this machine. The message says what to install.
      class NotInstalled < Error; end
    end
  end
end
